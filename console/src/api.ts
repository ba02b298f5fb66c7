/** One table as GET /api/v1/tables shows it. Offsets are sums over its buckets. */
export interface TableRow {
  database: string;
  table: string;
  kind: "log" | "primary-key";
  buckets: number;
  rows_per_second: number;
  log_end_offset: number;
  lake_enabled: boolean;
  lake_offset: number | null;
  lake_snapshot_id: number | null;
  lag_rows: number | null;
  lag_ms: number | null;
  freshness_ms: number | null;
  /** The lag is past the freshness, as the server judges it. */
  late: boolean;
  state: string;
  reason: string;
  /** Of a failed table: when the first of its failed rounds in a row was, and when it is tried again. */
  failed_since_ms: number | null;
  next_try_ms: number | null;
}

export interface Overview {
  /** Counts the answers of this server; the page names the one that it drew. */
  revision: number;
  time_ms: number;
  version: string;
  uptime_ms: number;
  tables: TableRow[];
}

export async function fetchOverview(signal: AbortSignal): Promise<Overview> {
  const response = await fetch("/api/v1/tables", { signal });
  if (!response.ok) throw new Error(`HTTP ${response.status}`);
  return (await response.json()) as Overview;
}
