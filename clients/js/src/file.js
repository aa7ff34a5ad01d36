/** A ledger in a file, for Node. */

import { closeSync, fsyncSync, openSync, readFileSync, realpathSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, resolve } from "node:path";

import { releaseLock, takeLock } from "./lock.js";
import { Refused, refuse } from "./refused.js";

const PATIENCE = 200; // times 50 milliseconds

const kindOf = (error) => error.code ?? error.name;

/** Where a path leads now, so that another name of the same file, or another working folder, is no second ledger. */
const realPath = (path) => {
  const whole = resolve(path);
  try {
    return realpathSync(whole);
  } catch {
    try {
      return resolve(realpathSync(dirname(whole)), basename(whole)); // of a file that is not there yet
    } catch {
      return whole;
    }
  }
};

/** Keep what was written to a file, or what a folder names, through a loss of power. */
const settle = (path, flags, write = () => {}) => {
  const handle = openSync(path, flags, 0o600);
  try {
    write(handle);
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
};

/**
 * A ledger in a file. Processes take turns by a second file, `.lock`, that only one can make; one that a
 * killed process or a failure of power left behind is taken away, unless another machine or container made it, of
 * which nobody else can know: machines that share a ledger need names of their own, and a folder with hard links.
 *
 * It is not a ledger of Python's client, whose lock is another one.
 */
export function fileLedger(name) {
  const path = realPath(name);
  const lock = `${path}.lock`;
  const lost = (error) => refuse("ledger", `The ledger cannot be kept: ${kindOf(error)}.`);

  const read = () => {
    let text;
    try {
      text = readFileSync(path, "utf8");
    } catch (error) {
      return error.code === "ENOENT" ? {} : lost(error);
    }
    try {
      const { deniable, surveys } = JSON.parse(text);
      if (deniable === "ledger of deniable.js" && surveys && typeof surveys === "object" && !Array.isArray(surveys)) {
        return surveys;
      }
    } catch {
      // not JSON
    }
    return refuse("ledger", "The ledger cannot be read, so what was answered before is unknown; restore it from a copy.");
  };

  const write = (surveys) => {
    const draft = `${path}.draft`;
    try {
      rmSync(draft, { force: true });
      const bytes = Buffer.from(JSON.stringify({ deniable: "ledger of deniable.js", surveys }, null, 1));
      settle(draft, "wx", (file) => writeFileSync(file, bytes)); // all of them: writeSync may stop early
      renameSync(draft, path);
      if (process.platform !== "win32") settle(dirname(path), "r");
    } catch (error) {
      lost(error);
    }
  };

  const take = async () => {
    for (let turn = 0; turn < PATIENCE; turn++) {
      try {
        if (takeLock(lock)) return;
      } catch (error) {
        lost(error);
      }
      await new Promise((wake) => setTimeout(wake, 50));
    }
    throw new Refused("ledger", `The ledger is held by another process; if no process of any machine or container uses it, remove ${lock}.`);
  };

  return {
    async update(change) {
      await take();
      try {
        const before = read();
        const entries = structuredClone(before);
        const result = change(entries);
        if (JSON.stringify(entries) !== JSON.stringify(before)) write(entries);
        return result;
      } finally {
        releaseLock(lock);
      }
    },
  };
}
