#!/usr/bin/env bash
# Makes a folder that checks and measures rollnorm on a machine with a GPU, where nothing is installed but the driver:
#   bench/gpu-kit.sh FOLDER      here, after npm ci
#   FOLDER/run.sh [RESULTS]      there; writes doctor.json, parity.json, parity.txt and bench-*.json to RESULTS in under six minutes
set -euo pipefail
folder=${1:?usage: bench/gpu-kit.sh FOLDER}
cd "$(dirname "$0")/.."
npm run --silent build
mkdir -p "$folder/node_modules" "$folder/bench/shaders"
cp "$(node -p process.execPath)" "$folder/node"
cp -r dist package.json "$folder/"
cp bench/shaders/*.wgsl "$folder/bench/shaders/"
for name in $(npm ls --omit=dev --all --parseable | sed -n 's#.*/node_modules/##p') tinybench; do
  mkdir -p "$folder/node_modules/$(dirname "$name")"
  cp -r "node_modules/$name" "$folder/node_modules/$name"
done
# Dawn is in the package for every platform; the machine has one.
(cd "$folder/node_modules/webgpu/dist" && ls | grep -v "$(node -p '`${process.platform}-${process.arch}`')" | xargs rm -rf)
cat > "$folder/run.sh" <<'RUN'
#!/usr/bin/env bash
set -euo pipefail
cd "$(dirname "$0")"
results=${1:-results}
mkdir -p "$results"
rollnorm() { ./node dist/src/main.js "$@"; }
rollnorm doctor
rollnorm doctor --json > "$results/doctor.json"
status=0
timeout 60 ./node dist/src/main.js parity --json > "$results/parity.json" || status=$?
timeout 100 ./node dist/bench/parity.js 2000000 2>&1 | tee "$results/parity.txt" || status=$?
timeout 110 ./node dist/bench/run.js --rows 100000 --rows 1000000 --rows 4000000 --only stages --json > "$results/bench-stages.json" || status=$?
timeout 40 ./node dist/bench/run.js --rows 1000000 --only kernels --json > "$results/bench-kernels.json" || status=$?
timeout 40 ./node dist/bench/run.js --only startup --json > "$results/bench-startup.json" || status=$?
exit "$status"
RUN
chmod +x "$folder/run.sh"
du -sh "$folder"
