// Draws the pictures of the documents in Chromium, for scripts/pictures.py.
//   pictures.mjs console FONT_FOLDER URL IMAGES     console.png, console.zh-CN.png, once flights flow
//   pictures.mjs shell FONT_FOLDER TEXT IMAGES      shell.png: the text of a terminal
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

const require = createRequire(fileURLToPath(new URL("../console/package.json", import.meta.url)));
const { chromium } = require("playwright-core");
const [what, fontFolder, source, images] = process.argv.slice(2);
const FLIGHTS_MIN = 150_000; // The lake has some of them, and more are on their way.

// Machines without a Chinese font would draw boxes.
const chinese = ["400", "700"].map((weight) => {
  const file = readFileSync(`${fontFolder}/noto-sans-sc-chinese-simplified-${weight}-normal.woff2`).toString("base64");
  return `@font-face { font-family: "Noto Sans SC"; font-weight: ${weight};
    src: url(data:font/woff2;base64,${file}) format("woff2"); unicode-range: U+2E80-9FFF, U+FF00-FFEF; }`;
}).join("\n");
const fonts = (first) => `${chinese}\n* { font-family: ${first}, "Noto Sans SC", sans-serif !important; }`;

const browser = await chromium.launch({
  executablePath: "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update",
    "--disable-sync"],
});
const page = await browser.newPage({ viewport: { width: 1280, height: 680 } });

async function drawConsole() {
  const flowing = async () => {
    try {
      const answer = await (await fetch(`${source}api/v1/tables`)).json();
      return answer.tables.some((table) => table.table === "flights" && table.log_end_offset >= FLIGHTS_MIN);
    } catch {
      return false; // The server is starting.
    }
  };
  for (;;) {
    try {
      await page.goto(source);
      break;
    } catch {
      await page.waitForTimeout(200);
    }
  }
  await page.addStyleTag({ content: fonts("system-ui, DejaVu Sans") });
  while (!(await flowing())) await page.waitForTimeout(200);
  await page.evaluate(() => document.fonts.ready);
  for (const name of ["console.zh-CN.png", "console.png"]) {
    await page.getByRole("button").click();
    await page.waitForTimeout(1200); // The next answer.
    await page.screenshot({ path: `${images}/${name}` });
  }
}

async function drawShell() {
  await page.setContent(`<style>${fonts("DejaVu Sans Mono, monospace")}
    body { margin: 0; }
    pre { display: inline-block; margin: 0; padding: 18px 22px; background: #10151f; color: #d6deeb; font-size: 14px;
      line-height: 1.35; }
    b { color: #7fd1a6; font-weight: normal; }</style><pre></pre>`);
  await page.evaluate((text) => {
    const pre = document.querySelector("pre");
    for (const line of text.split("\n")) {
      const prompt = /^(sluice> |     -> )/.exec(line);
      if (prompt !== null) pre.append(Object.assign(document.createElement("b"), { textContent: prompt[0] }));
      pre.append(line.slice(prompt?.[0].length ?? 0), "\n");
    }
  }, readFileSync(source, "utf8"));
  await page.locator("pre").screenshot({ path: `${images}/shell.png` });
}

await (what === "console" ? drawConsole() : drawShell());
await browser.close();
