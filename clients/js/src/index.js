export { Client } from "./client.js";
export { browserLedger } from "./ledger.js";
export { Refused } from "./refused.js";
export { readTexts } from "./texts.js";
