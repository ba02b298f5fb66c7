// Opens the console in Chromium and checks, while rows flow, that what the page shows is what the API answered for
// the revision that the page names. Arguments: URL, seconds, path of a screenshot.
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

const require = createRequire(fileURLToPath(new URL("../console/package.json", import.meta.url)));
const { chromium } = require("playwright-core");
const [url, seconds, screenshot] = process.argv.slice(2);

const FIELDS = ["rows_per_second", "log_end_offset", "lake_offset", "lag_rows", "lake_snapshot_id"];
const count = (value) => (value === null ? "—" : Math.round(value).toLocaleString("en-US"));

const browser = await chromium.launch({
  executablePath: "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync"],
});
const page = await browser.newPage({ viewport: { width: 1280, height: 720 } });
const problems = [];
const answers = new Map(); // revision -> answer
page.on("console", (message) => message.type() === "error" && problems.push(`console: ${message.text()}`));
page.on("pageerror", (error) => problems.push(`page: ${error.message}`));
page.on("request", (request) => {
  if (!request.url().startsWith(url) && !request.url().startsWith("data:")) problems.push(`foreign request ${request.url()}`);
});
page.on("response", async (response) => {
  if (!response.url().endsWith("/api/v1/tables")) return;
  const answer = await response.json();
  answers.set(answer.revision, answer);
});

// One consistent reading of the page: its revision and its cells, taken in one go.
const read = () =>
  page.evaluate((fields) => {
    const main = document.querySelector("main[data-revision]");
    if (main === null) return null;
    const rows = {};
    for (const tr of main.querySelectorAll("tr[data-table]")) {
      rows[tr.dataset.table] = Object.fromEntries(
        fields.map((field) => [field, tr.querySelector(`[data-field=${field}]`).textContent]));
      rows[tr.dataset.table].late = tr.classList.contains("late");
    }
    return { revision: Number(main.dataset.revision), rows };
  }, FIELDS);

await page.goto(url);
const revisions = new Set();
let compared = 0;
const end = Date.now() + Number(seconds) * 1000;
while (Date.now() < end) {
  await page.waitForTimeout(250);
  const shown = await read();
  if (shown === null || !answers.has(shown.revision)) continue;
  revisions.add(shown.revision);
  const answer = answers.get(shown.revision);
  if (answer.tables.length !== Object.keys(shown.rows).length) problems.push(`rows differ at revision ${shown.revision}`);
  for (const table of answer.tables) {
    for (const field of FIELDS) {
      const cell = shown.rows[`${table.database}.${table.table}`]?.[field];
      if (cell !== count(table[field])) {
        problems.push(`revision ${shown.revision} ${table.table} ${field}: page ${cell}, API ${table[field]}`);
      }
      compared += 1;
    }
    const late = shown.rows[`${table.database}.${table.table}`]?.late;
    if (late !== table.late) problems.push(`revision ${shown.revision} ${table.table} late: page ${late}, API ${table.late}`);
  }
}
await page.getByRole("button").click();
if (!(await page.textContent("header")).includes("中文")) problems.push("the language switch does nothing");
await page.waitForTimeout(1200);
if (screenshot) await page.screenshot({ path: screenshot });
await browser.close();
if (revisions.size < 2) problems.push(`only ${revisions.size} revisions seen`);
if (compared === 0) problems.push("nothing was compared");
if (problems.length > 0) {
  console.error([...new Set(problems)].slice(0, 20).join("\n"));
  process.exit(1);
}
console.log(`${compared} cells of ${revisions.size} revisions agree`);
