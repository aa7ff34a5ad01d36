/** A lock file for Node that outlives no process: one that a killed process left behind is taken away, by one of those who wait. */

import { randomUUID } from "node:crypto";
import { existsSync, linkSync, readFileSync, readdirSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { basename, dirname, join } from "node:path";

const UNKNOWN = "-"; // for what this system does not tell
const FORM = /^([\w-]+)\n(\d+)\n(\w*)\n(.*) ([\w-]+) (-|pid:\[\d+\])\n?$/; // no beginning of such a text is one
const REMAINS = /^(\.([0-9a-f-]{36}|unreadable|draft-[0-9a-f-]{36}))+$/; // what stands behind the name of a lock

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

/** This machine, its start, and the part of it within which numbers of processes are comparable. */
const system = () => ({
  host: hostname(),
  boot: /^[\w-]+/.exec(reading(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8")) ?? "")?.[0] ?? UNKNOWN,
  part: /^pid:\[\d+\]$/.exec(reading(() => readlinkSync("/proc/self/ns/pid")) ?? "")?.[0] ?? UNKNOWN,
});

const isGone = (pid) => {
  try {
    process.kill(pid, 0);
    return false;
  } catch ({ code }) {
    return code === "ESRCH";
  }
};

/** Tell whether the process that wrote this is surely dead: of another machine, or another container, nobody can know. */
const isDead = ({ pid, birth, host, boot, part }) => {
  const here = system();
  if (host !== here.host) return false;
  if (boot !== here.boot) return boot !== UNKNOWN && here.boot !== UNKNOWN; // the machine was started anew
  return part === here.part && (isGone(+pid) || birthOf(pid) !== birth);
};

/**
 * The name that no other lock has of one whose holder is dead; nothing where it is free, or may be held.
 *
 * A lock is whole from its first moment on: one that is not was spoilt when power failed, so nobody holds it.
 */
const deadName = (path) => {
  const text = reading(() => readFileSync(path, "utf8"));
  if (text === undefined) return undefined;
  const [, name, pid, birth, host, boot, part] = FORM.exec(text) ?? [];
  if (name === undefined) return "unreadable";
  return isDead({ pid, birth, host, boot, part }) ? name : undefined;
};

/** Make a file that nobody else has made, whole at once, by a second name for a draft; tell whether that was so. */
const make = (path) => {
  const name = randomUUID();
  const { host, boot, part } = system();
  const text = [name, process.pid, birthOf(process.pid), `${host} ${boot} ${part}`].join("\n");
  const draft = `${path}.draft-${name}`;
  try {
    writeFileSync(draft, text, { flag: "wx", mode: 0o600 });
    return isLinked(draft, path, text);
  } finally {
    rmSync(draft, { force: true });
  }
};

const isLinked = (draft, path, text) => {
  try {
    linkSync(draft, path);
    return true;
  } catch (error) {
    if (error.code === "EEXIST") return reading(() => readFileSync(path, "utf8")) === text; // a network may lose the answer, and ask twice
    if (error.code === "ENOENT") return false; // swept away half written
    throw error;
  }
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
  const guard = `${path}.${name}`;
  if (make(guard)) {
    if (deadName(path) === name) rmSync(path, { force: true });
    rmSync(guard, { force: true });
  } else clear(guard);
};

/** Take away what processes left that were killed while they tried to take a lock that is now held by this one. */
const sweep = (path) => {
  const [folder, lock] = [dirname(path), basename(path)];
  for (const each of reading(() => readdirSync(folder)) ?? []) {
    const left = join(folder, each);
    if (each.startsWith(lock) && REMAINS.test(each.slice(lock.length)) && deadName(left)) reading(() => rmSync(left, { force: true }));
  }
};

/** Take a lock if it is free; if its holder is dead, the next turn finds it so. */
export const takeLock = (path) => {
  if (!existsSync(path) && make(path)) {
    sweep(path);
    return true;
  }
  clear(path);
  return false;
};

export const releaseLock = (path) => rmSync(path, { force: true });
