/**
 * Write src/definition.js from the definition that all clients share, dist/ from src/, and what the participants' page
 * loads from page/ and src/, with esbuild; or `--check` that they were written from these sources.
 *
 * A built file begins with a digest of what it was built from, so the check needs no tool.
 */

import { createHash } from "node:crypto";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";

const at = (path) => new URL(path, import.meta.url);
const PAGES = "../../src/deniable/server/pages/";
const LARGEST = 34_000;
const BUILT = "dist/deniable.min.js";

const shared = JSON.parse(readFileSync(at("../../src/deniable/formats/forms.json"), "utf8"));
// What a rule says to people is said in Python only.
const definition = `/** The definition of a survey that all clients share, from src/deniable/formats/forms.json by build.js. */
export const DEFINITION = ${JSON.stringify(shared, (name, rule) => (name === "says" ? undefined : rule))};
`;
const isChecked = process.argv.includes("--check");
if (!isChecked) writeFileSync(at("src/definition.js"), definition);

const filesOf = (folder) => readdirSync(at(folder)).sort().map((name) => `${folder}${name}`);

/** The line that a file built from these begins with. */
const bannerOf = (paths) => {
  const digest = createHash("sha256");
  for (const path of paths) digest.update(`${path.split("/").at(-1)}\n${readFileSync(at(path), "utf8")}`);
  return `/* deniable ${digest.digest("hex").slice(0, 16)} */`;
};

/** The page speaks a catalogue's language, and so needs neither the client's English nor what its errors say. */
const speechless = {
  name: "speechless",
  setup(build) {
    build.onResolve({ filter: /english\.js$/ }, () => ({ path: "english", namespace: "speechless" }));
    build.onLoad({ filter: /.*/, namespace: "speechless" }, () => ({ contents: "export const explain = undefined;" }));
    // A text with a blank that comes last in a call is what an error says.
    build.onLoad({ filter: /js\/src\/\w+\.js$/ }, ({ path }) => ({
      contents: readFileSync(path, "utf8").replace(/,\s*("[A-Za-z][^"\n]* [^"\n]*"|`[A-Z][^`\n]* [^`\n]*\.`)(,?\s*\))/g, "$2"),
    }));
  },
};

const own = filesOf("src/");
const page = [...own, ...filesOf("page/"), `${PAGES}dom.js`, `${PAGES}page.css`];
const builds = [
  { from: "src/index.js", sources: own, to: [BUILT, `${PAGES}deniable.min.js`], largest: LARGEST },
  { from: "page/main.js", sources: page, to: [`${PAGES}participant.min.js`], plugins: [speechless] },
  { from: "page/page.css", sources: page, to: [`${PAGES}participant.min.css`] },
];

if (isChecked) {
  const isOld = ({ sources, to }) => to.filter((path) => !readFileSync(at(path), "utf8").startsWith(`${bannerOf(sources)}\n`));
  const stale = [...(readFileSync(at("src/definition.js"), "utf8") !== definition ? ["src/definition.js"] : []), ...builds.flatMap(isOld)];
  for (const path of stale) {
    console.error(`${path.split("/").slice(-2).join("/")} is not up to date: npm install, then npm run build.`);
    process.exitCode = 1;
  }
} else {
  const { build } = await import("esbuild");
  for (const { from, sources, to, plugins, largest = Infinity } of builds) {
    const banner = bannerOf(sources);
    const result = await build({
      entryPoints: [at(from).pathname],
      bundle: true,
      minify: true,
      write: false,
      format: "esm",
      target: "es2022",
      charset: "utf8",
      banner: { js: banner, css: banner },
      legalComments: "none",
      plugins,
    });
    const { contents } = result.outputFiles[0];
    if (contents.length >= largest) throw new Error(`${to[0]} has ${contents.length} bytes; ${largest} is too many.`);
    for (const copy of to) writeFileSync(at(copy), contents);
    console.log(`${to[0].split("/").slice(-2).join("/")}: ${contents.length} bytes`);
  }
}
