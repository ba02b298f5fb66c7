// Opens the console in Chromium and checks, while rows flow and in both languages, that every number and text of the page
// is what the API answered for the revision that the page names. Arguments: URL, seconds, path of a screenshot.
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual } from "node:util";

const require = createRequire(fileURLToPath(new URL("../console/package.json", import.meta.url)));
const { chromium } = require("playwright-core");
const [url, seconds, screenshot] = process.argv.slice(2);

// ---- what the page must show for an answer, written down a second time

const WORDS = {
  zh: {
    header: ["Sluice 湖流一体", "English"],
    figures: ["数据表", "写入速率", "最大延迟", "超出新鲜度", "已运行"],
    headings: ["表", "类型", "分桶", "行/秒", "日志末端", "入湖位点", "延迟行数", "延迟", "新鲜度", "湖快照", "入湖状态"],
    kinds: { log: "日志表", "primary-key": "主键表" }, off: "未开启", revision: "修订", chart: "入湖延迟（秒，最近五分钟）",
  },
  en: {
    header: ["Sluice Lakehouse", "中文"],
    figures: ["Tables", "Write rate", "Largest lag", "Past freshness", "Up"],
    headings: ["Table", "Kind", "Buckets", "Rows/s", "Log end", "Lake offset", "Lag, rows", "Lag", "Freshness", "Snapshot",
      "Tiering"],
    kinds: { log: "append", "primary-key": "primary key" }, off: "off", revision: "revision",
    chart: "Lag of the lake (seconds, last five minutes)",
  },
};

const grouped = (digits) => digits.replace(/\B(?=(\d{3})+$)/g, ",");
const count = (value) => (value === null ? "—" : grouped(String(Math.round(value))));
function duration(ms) {
  if (ms === null) return "—";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 2 * 60 * 1000) return `${(ms / 1000).toFixed(1)} s`;
  if (ms < 2 * 60 * 60 * 1000) return `${Math.round(ms / 60000)} min`;
  return `${(ms / 3600000).toFixed(1)} h`;
}

function expectedRow(table, words) {
  return {
    table: `${table.database}.${table.table}`,
    late: table.late,
    state: `state-${table.lake_enabled ? table.state.toLowerCase() : "off"}`,
    reason: table.reason,
    cells: [`${table.database}.${table.table}`, words.kinds[table.kind], String(table.buckets), count(table.rows_per_second),
      count(table.log_end_offset), count(table.lake_offset), count(table.lag_rows), duration(table.lag_ms),
      duration(table.freshness_ms), count(table.lake_snapshot_id), table.lake_enabled ? table.state : words.off],
  };
}

function expectedPage(answer, language) {
  const words = WORDS[language];
  const late = answer.tables.filter((table) => table.late).length;
  const rate = answer.tables.map((table) => table.rows_per_second).reduce((a, b) => a + b, 0);
  const lag = Math.max(0, ...answer.tables.map((table) => table.lag_ms ?? 0));
  const figures = [count(answer.tables.length), `${count(rate)} /s`, duration(lag), count(late), duration(answer.uptime_ms)];
  return {
    header: words.header,
    figures: words.figures.map((label, i) => [label, figures[i], i === 3 && late > 0]),
    headings: words.headings,
    rows: answer.tables.map((table) => expectedRow(table, words)),
    chart: words.chart,
    footer: `Sluice ${answer.version} · ${words.revision} ${answer.revision} · ${new Date(answer.time_ms).toISOString()}`,
  };
}

// All that `main` shows, so that nothing is shown that is not compared.
const textOf = (page) => [...page.figures.flatMap(([label, value]) => [label, value]), ...page.headings,
  ...page.rows.flatMap((row) => row.cells), page.chart, page.footer].join("");

// ---- the page

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

// One consistent reading of the page: its revision and its texts, taken in one go.
const read = () =>
  page.evaluate(() => {
    const main = document.querySelector("main[data-revision]");
    if (main === null) return null;
    const text = (element) => element.textContent;
    const all = (root, selector) => [...root.querySelectorAll(selector)];
    return {
      revision: Number(main.dataset.revision),
      language: document.documentElement.lang,
      text: text(main),
      shown: {
        header: all(document, "header h1, header button").map(text),
        figures: all(main, ".figure").map((figure) =>
          [text(figure.querySelector("span")), text(figure.querySelector("strong")), figure.classList.contains("alarm")]),
        headings: all(main, "thead th").map(text),
        rows: all(main, "tbody tr").map((tr) => ({
          table: tr.dataset.table,
          late: tr.classList.contains("late"),
          state: all(tr, ".state")[0].className.replace("state ", ""),
          reason: all(tr, ".state")[0].title,
          cells: [...tr.children].map(text),
        })),
        chart: text(main.querySelector("figcaption")),
        footer: text(main.querySelector("footer")),
      },
    };
  });

function differences(expected, shown, path = "") {
  if (isDeepStrictEqual(expected, shown)) return [];
  if (typeof expected !== "object" || typeof shown !== "object" || shown === null || expected === null) {
    return [`${path}: page ${JSON.stringify(shown)}, API ${JSON.stringify(expected)}`];
  }
  return [...new Set([...Object.keys(expected), ...Object.keys(shown)])].flatMap((key) =>
    differences(expected[key], shown[key], `${path} ${key}`));
}

const revisions = new Set();
let compared = 0;
function compare(seen, language) {
  const expected = expectedPage(answers.get(seen.revision), language);
  const found = differences(expected, seen.shown);
  if (seen.text !== textOf(expected)) found.push(`text ${seen.text} instead of ${textOf(expected)}`);
  problems.push(...found.map((problem) => `revision ${seen.revision} ${language}: ${problem}`));
  revisions.add(seen.revision);
  compared += expected.figures.length + expected.rows.flatMap((row) => row.cells).length + 1;
}

await page.goto(url);
for (const language of ["en", "zh"]) { // The browser is English, and the button changes that.
  const end = Date.now() + (Number(seconds) * 1000) / 2;
  const before = revisions.size;
  while (Date.now() < end || (revisions.size < before + 3 && Date.now() < end + 60_000)) {
    await page.waitForTimeout(250);
    const seen = await read();
    if (seen?.language === language && answers.has(seen.revision)) compare(seen, language);
  }
  if (revisions.size < before + 3) problems.push(`only ${revisions.size - before} revisions seen in ${language}`);
  if (language === "en" && screenshot) await page.screenshot({ path: screenshot });
  await page.getByRole("button").click();
}
for (const [locale, language] of [["zh-CN", "zh"], ["zh-TW", "zh"], ["de-DE", "en"]]) {
  const reader = await (await browser.newContext({ locale })).newPage();
  await reader.goto(url);
  await reader.waitForSelector("main[data-revision]");
  const shown = await reader.evaluate(() => document.documentElement.lang);
  if (shown !== language) problems.push(`a browser of ${locale} gets the page in ${shown}`);
}
await browser.close();
if (problems.length > 0) {
  console.error([...new Set(problems)].slice(0, 20).join("\n"));
  process.exit(1);
}
console.log(`${compared} figures and texts of ${revisions.size} revisions agree`);
