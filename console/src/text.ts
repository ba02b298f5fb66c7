/** Words of the page in both languages. */
const words = {
  zh: {
    title: "湖流一体",
    tables: "数据表",
    version: "版本",
    uptime: "已运行",
    write: "写入速率",
    lag: "最大延迟",
    late: "超出新鲜度",
    table: "表",
    kind: "类型",
    buckets: "分桶",
    rate: "行/秒",
    logEnd: "日志末端",
    lakeOffset: "入湖位点",
    lagRows: "延迟行数",
    lagTime: "延迟",
    freshness: "新鲜度",
    state: "入湖状态",
    snapshot: "湖快照",
    log: "日志表",
    "primary-key": "主键表",
    off: "未开启",
    lost: "与服务器的连接已断开，正在重试",
    loading: "正在读取",
    empty: "还没有表。用 sluice sql 建一张。",
    revision: "修订",
    switch: "English",
    chart: "入湖延迟（秒，最近五分钟）",
  },
  en: {
    title: "Lakehouse",
    tables: "Tables",
    version: "Version",
    uptime: "Up",
    write: "Write rate",
    lag: "Largest lag",
    late: "Past freshness",
    table: "Table",
    kind: "Kind",
    buckets: "Buckets",
    rate: "Rows/s",
    logEnd: "Log end",
    lakeOffset: "Lake offset",
    lagRows: "Lag, rows",
    lagTime: "Lag",
    freshness: "Freshness",
    state: "Tiering",
    snapshot: "Snapshot",
    log: "append",
    "primary-key": "primary key",
    off: "off",
    lost: "The connection to the server is lost; trying again",
    loading: "Reading",
    empty: "No tables yet. Make one with sluice sql.",
    revision: "revision",
    switch: "中文",
    chart: "Lag of the lake (seconds, last five minutes)",
  },
} as const;

export type Language = keyof typeof words;
export type Word = keyof (typeof words)["zh"];

export function say(language: Language, word: Word): string {
  return words[language][word];
}

export function formatCount(value: number | null): string {
  return value === null ? "—" : Math.round(value).toLocaleString("en-US");
}

export function formatDuration(ms: number | null): string {
  if (ms === null) return "—";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 120_000) return `${(ms / 1000).toFixed(1)} s`;
  if (ms < 7_200_000) return `${Math.round(ms / 60_000)} min`;
  return `${(ms / 3_600_000).toFixed(1)} h`;
}
