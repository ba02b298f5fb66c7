# The commands that people use. Each is safe to repeat.
.PHONY: run stop test check check-all fuzz bench dist format clean

run:      ## install what is missing, build, start a server, load real data through it, compare with the source
	@scripts/run.sh
stop:     ## stop the server that `make run` left up
	@scripts/stop.sh
test:     ## build with sanitizers and run all tests, the main job on a tenth of its data among them
	@scripts/test.sh
check:    ## the fast source checks alone
	@python3 scripts/check_sources.py
check-all: ## test, then the fuzzers, ThreadSanitizer and the header check
	@scripts/check-all.sh
fuzz:     ## run the fuzz targets; SECONDS=240 in all unless given
	@scripts/fuzz.sh
bench:    ## load figures of a release build
	@scripts/bench.sh
dist:     ## a tarball that runs from any folder
	@scripts/dist.sh
format:
	@git ls-files 'src/*.cc' 'src/*.h' 'sim/*.cc' 'fuzz/*.cc' 'bench/*.cc' | xargs clang-format-19 -i
clean:
	rm -rf build run dist console/dist
