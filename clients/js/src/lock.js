/** A lock file for Node that outlives no process: one that a killed process left behind is taken away, by one of those who wait. */

import { randomUUID } from "node:crypto";
import { readFileSync, readlinkSync, rmSync, statSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";

const EMPTY = 5000; // milliseconds after which whoever made a lock and wrote nothing into it is dead

const reading = (read) => {
  try {
    return read();
  } catch {
    return undefined;
  }
};

/** What tells a process from a later one of the same number: when it began, where the system tells that; a zombie is dead. */
const birthOf = (pid) => {
  const fields = reading(() => readFileSync(`/proc/${pid}/stat`, "utf8"))?.replace(/.*\) /s, "").split(" ") ?? [];
  return /[ZX]/.test(fields[0]) ? "dead" : (fields[19] ?? "");
};

/** Where numbers of processes are comparable: this machine, since it was started, and this part of it. */
const system = () =>
  [hostname(), reading(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()), reading(() => readlinkSync("/proc/self/ns/pid"))].join(" ");

const isGone = (pid) => {
  try {
    process.kill(pid, 0);
    return false;
  } catch ({ code }) {
    return code === "ESRCH";
  }
};

/** Tell whether the process that wrote this is surely dead: of another machine nobody can know. */
const isDead = ([name, pid, birth, machine]) =>
  /^[\w-]+$/.test(name) && machine === system() && (isGone(+pid) || birthOf(pid) !== birth);

/** Make a file that nobody else has made; tell whether that was so, and it still is. */
const make = (path, text) => {
  try {
    writeFileSync(path, text, { flag: "wx", mode: 0o600 });
  } catch (error) {
    if (error.code === "EEXIST") return false;
    throw error;
  }
  return reading(() => readFileSync(path, "utf8")) === text;
};

/** The name that no other lock has of one whose holder is dead; nothing where it is free, or may be held. */
const deadName = (path) => {
  const text = reading(() => readFileSync(path, "utf8"));
  if (text) return isDead(text.split("\n")) ? text.split("\n")[0] : undefined;
  const { ino, mtimeMs } = (text === "" && reading(() => statSync(path))) || {};
  return Date.now() - mtimeMs > EMPTY ? `${ino}-${mtimeMs}` : undefined;
};

/**
 * Take away a lock whose holder is dead.
 *
 * Several may try: only who makes the file that is named after that very lock may remove it, and looks again
 * before. So nobody removes a lock that another has taken in the meantime. Who dies at this leaves that file, which
 * is a lock, too.
 */
const clear = (path) => {
  const name = deadName(path);
  if (!name) return;
  const own = `${path}.${name}`;
  if (make(own, textOf())) {
    if (deadName(path) === name) rmSync(path, { force: true });
    rmSync(own, { force: true });
  } else clear(own);
};

const textOf = () => [randomUUID(), process.pid, birthOf(process.pid), system()].join("\n");

/** Take a lock if it is free, or its holder is dead. */
export const takeLock = (path) => {
  if (make(path, textOf())) return true;
  clear(path);
  return false;
};

export const releaseLock = (path) => rmSync(path, { force: true });
