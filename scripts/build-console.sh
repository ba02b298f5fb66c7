#!/usr/bin/env bash
# Build the console page into console/dist when its sources are newer.
set -euo pipefail
cd "$(dirname "$0")/../console"
if [ -e dist/index.html ] && [ -z "$(find src index.html package-lock.json vite.config.ts -newer dist/index.html)" ]; then exit 0; fi
npm ci --silent --no-audit --no-fund
npm run --silent build
