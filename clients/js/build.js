/**
 * Write dist/ from src/ with esbuild, or `--check` that it was written from these sources.
 *
 * A built file begins with a digest of what it was built from, so the check needs no tool.
 */

import { createHash } from "node:crypto";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";

const LARGEST = 10_000;
const BUILT = { "deniable.min.js": "index.js", "asking.min.js": "asking.js", "labels.min.js": "labels.js" };
const at = (path) => new URL(path, import.meta.url);

const digest = createHash("sha256");
for (const name of readdirSync(at("src/")).sort()) digest.update(`${name}\n${readFileSync(at(`src/${name}`), "utf8")}`);
const banner = `/* deniable ${digest.digest("hex").slice(0, 16)} */`;

if (process.argv.includes("--check")) {
  for (const name of Object.keys(BUILT)) {
    if (!readFileSync(at(`dist/${name}`), "utf8").startsWith(`${banner}\n`)) {
      console.error(`dist/${name} is not up to date: npm install, then npm run build.`);
      process.exitCode = 1;
    }
  }
} else {
  const { build } = await import("esbuild");
  for (const [name, entry] of Object.entries(BUILT)) {
    const made = await build({
      entryPoints: [at(`src/${entry}`).pathname],
      bundle: true,
      minify: true,
      write: false,
      format: "esm",
      target: "es2022",
      charset: "utf8",
      banner: { js: banner },
      legalComments: "none",
    });
    const { contents } = made.outputFiles[0];
    if (contents.length >= LARGEST) throw new Error(`${name} has ${contents.length} bytes; ${LARGEST} is too many.`);
    writeFileSync(at(`dist/${name}`), contents);
    console.log(`dist/${name}: ${contents.length} bytes`);
  }
}
