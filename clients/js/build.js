/**
 * Write src/definition.js from the definition that all clients share and src/english.js from the English catalogue, dist/
 * from src/, and what the participants' page loads from page/ and src/, with esbuild; or `--check` that they were written
 * from these sources.
 *
 * A built file begins with a digest of what it was built from, so the check needs no tool.
 */

import { createHash } from "node:crypto";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";

const at = (path) => new URL(path, import.meta.url);
const PAGES = "../../src/deniable/server/pages/";
const LARGEST = 34_000;
const BUILT = "dist/deniable.min.js";

const read = (path) => readFileSync(at(path), "utf8");
const shared = JSON.parse(read("../../src/deniable/formats/forms.json"));
// What a rule says to people is said in Python only.
const definition = `/** The definition of a survey that all clients share, from src/deniable/formats/forms.json by build.js. */
export const DEFINITION = ${JSON.stringify(shared, (name, rule) => (name === "says" ? undefined : rule))};
`;
const { locale, direction, messages } = JSON.parse(read("../../src/deniable/languages/catalogues/en.json"));
const words = read("src/words.js") + read("src/language.js");
// Of the messages, those that say a question.
const ofQuestions = ([name]) => name.startsWith("bin.") || words.includes(`"${name}"`);
const english = `/** What English says of a question, from src/deniable/languages/catalogues/en.json by build.js. */
export const ENGLISH = ${JSON.stringify({ locale, direction, messages: Object.fromEntries(Object.entries(messages).filter(ofQuestions)) })};
`;
const written = Object.entries({ "src/definition.js": definition, "src/english.js": english });
const isChecked = process.argv.includes("--check");
if (!isChecked) for (const [path, text] of written) writeFileSync(at(path), text);

const filesOf = (folder) => readdirSync(at(folder)).sort().map((name) => `${folder}${name}`);

/** The line that a file built from these begins with. */
const bannerOf = (paths) => {
  const digest = createHash("sha256");
  for (const path of paths) digest.update(`${path.split("/").at(-1)}\n${read(path)}`);
  return `/* deniable ${digest.digest("hex").slice(0, 16)} */`;
};

/** The page speaks a catalogue's language, and so needs not what the client's errors say. */
const speechless = {
  name: "speechless",
  setup(build) {
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
  { from: "src/explain.js", sources: own, to: ["dist/explain.min.js"] },
  { from: "page/main.js", sources: page, to: [`${PAGES}participant.min.js`], plugins: [speechless] },
  { from: "page/page.css", sources: page, to: [`${PAGES}participant.min.css`] },
];

if (isChecked) {
  const isOld = ({ sources, to }) => to.filter((path) => !read(path).startsWith(`${bannerOf(sources)}\n`));
  const changed = written.filter(([path, text]) => read(path) !== text).map(([path]) => path);
  const stale = [...changed, ...builds.flatMap(isOld)];
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
