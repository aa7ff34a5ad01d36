/**
 * Write src/definition.js from the definition that all clients share, and dist/ from src/ with esbuild; or
 * `--check` that they were written from these sources.
 *
 * The built file begins with a digest of what it was built from, so the check needs no tool.
 */

import { createHash } from "node:crypto";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";

const LARGEST = 33_000;
const BUILT = "dist/deniable.min.js";
const at = (path) => new URL(path, import.meta.url);

const shared = JSON.parse(readFileSync(at("../../src/deniable/formats/forms.json"), "utf8"));
// What a rule says to people is said in Python only.
const definition = `/** The definition of a survey that all clients share, from src/deniable/formats/forms.json by build.js. */
export const DEFINITION = ${JSON.stringify(shared, (name, rule) => (name === "says" ? undefined : rule))};
`;
const isChecked = process.argv.includes("--check");
if (!isChecked) writeFileSync(at("src/definition.js"), definition);

const digest = createHash("sha256");
for (const name of readdirSync(at("src/")).sort()) digest.update(`${name}\n${readFileSync(at(`src/${name}`), "utf8")}`);
const banner = `/* deniable ${digest.digest("hex").slice(0, 16)} */`;

if (isChecked) {
  const stale = [
    readFileSync(at("src/definition.js"), "utf8") !== definition && "src/definition.js",
    !readFileSync(at(BUILT), "utf8").startsWith(`${banner}\n`) && BUILT,
  ].filter(Boolean);
  for (const name of stale) {
    console.error(`${name} is not up to date: npm install, then npm run build.`);
    process.exitCode = 1;
  }
} else {
  const { build } = await import("esbuild");
  const result = await build({
    entryPoints: [at("src/index.js").pathname],
    bundle: true,
    minify: true,
    write: false,
    format: "esm",
    target: "es2022",
    charset: "utf8",
    banner: { js: banner },
    legalComments: "none",
  });
  const { contents } = result.outputFiles[0];
  if (contents.length >= LARGEST) throw new Error(`${BUILT} has ${contents.length} bytes; ${LARGEST} is too many.`);
  for (const copy of [BUILT, "../../src/deniable/server/pages/deniable.min.js"]) writeFileSync(at(copy), contents);
  console.log(`${BUILT}: ${contents.length} bytes`);
}
