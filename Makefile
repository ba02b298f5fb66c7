# The commands that people use. Each is safe to repeat.
.PHONY: run stop test check check-all tidy fuzz bench dist format clean

run:      ## install what is missing, build, start a server, load real data through it, compare with the source
	@scripts/run.sh
stop:     ## stop the server that `make run` left up
	@scripts/stop.sh
test:     ## build with sanitizers and run all tests, the main job on a tenth of its data among them
	@scripts/test.sh
check:    ## the fast source checks alone
	@python3 scripts/check_sources.py
check-all: ## test, then the Java clients, the header check, clang-tidy, ThreadSanitizer and the fuzzers
	@scripts/check-all.sh
tidy:     ## clang-tidy over every source, or those that differ from commit TIDY_BASE
	@scripts/tidy.sh
fuzz:     ## run the fuzz targets; FUZZ_SECONDS=240 in all unless given
	@scripts/fuzz.sh
bench:    ## load figures of a release build
	@scripts/bench.sh
dist:     ## a tarball that runs from any folder
	@scripts/dist.sh
format:   ## format every C++ source
	@scripts/format.sh
clean:
	rm -rf build run dist console/dist
