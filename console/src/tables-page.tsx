import { useEffect, useState } from "preact/hooks";
import { fetchOverview, type Overview, type TableRow } from "./api";
import { LagChart, type LagSample } from "./lag-chart";
import { formatCount, formatDuration, say, type Language } from "./text";

const REFRESH_MS = 1000;
const SAMPLES_KEPT = 300;

function largestLagMs(overview: Overview): number {
  return overview.tables.reduce((most, row) => Math.max(most, row.lag_ms ?? 0), 0);
}

/** Asks for the overview once a second, one question at a time. */
function useOverview() {
  const [overview, setOverview] = useState<Overview | null>(null);
  const [lost, setLost] = useState(false);
  const [samples, setSamples] = useState<LagSample[]>([]);

  useEffect(() => {
    const abort = new AbortController();
    let timer = 0;
    async function ask() {
      try {
        const next = await fetchOverview(abort.signal);
        setOverview(next);
        setLost(false);
        setSamples((old) =>
          [...old, { timeSeconds: next.time_ms / 1000, lagSeconds: largestLagMs(next) / 1000 }].slice(-SAMPLES_KEPT),
        );
      } catch {
        if (abort.signal.aborted) return;
        setLost(true);
      }
      timer = window.setTimeout(ask, REFRESH_MS);
    }
    void ask();
    return () => {
      abort.abort();
      window.clearTimeout(timer);
    };
  }, []);
  return { overview, lost, samples };
}

function Figure({ label, value, alarm }: { label: string; value: string; alarm?: boolean }) {
  return (
    <div class={alarm ? "card figure alarm" : "card figure"}>
      <span>{label}</span>
      <strong>{value}</strong>
    </div>
  );
}

function Row({ row, language }: { row: TableRow; language: Language }) {
  const state = row.lake_enabled ? row.state : say(language, "off");
  return (
    <tr data-table={`${row.database}.${row.table}`} class={row.late ? "late" : ""}>
      <th scope="row">
        <span class="database">{row.database}.</span>
        {row.table}
      </th>
      <td>{say(language, row.kind)}</td>
      <td class="number">{row.buckets}</td>
      <td class="number" data-field="rows_per_second">{formatCount(row.rows_per_second)}</td>
      <td class="number" data-field="log_end_offset">{formatCount(row.log_end_offset)}</td>
      <td class="number" data-field="lake_offset">{formatCount(row.lake_offset)}</td>
      <td class="number" data-field="lag_rows">{formatCount(row.lag_rows)}</td>
      <td class="number" data-field="lag_ms">{formatDuration(row.lag_ms)}</td>
      <td class="number">{formatDuration(row.freshness_ms)}</td>
      <td class="number" data-field="lake_snapshot_id">{formatCount(row.lake_snapshot_id)}</td>
      <td>
        <span class={`state state-${row.lake_enabled ? row.state.toLowerCase() : "off"}`} title={row.reason}>
          {state}
        </span>
      </td>
    </tr>
  );
}

function TableList({ overview, language }: { overview: Overview; language: Language }) {
  if (overview.tables.length === 0) return <p class="empty">{say(language, "empty")}</p>;
  return (
    <div class="card scroll">
      <table>
        <thead>
          <tr>
            <th scope="col">{say(language, "table")}</th>
            <th scope="col">{say(language, "kind")}</th>
            <th scope="col" class="number">{say(language, "buckets")}</th>
            <th scope="col" class="number">{say(language, "rate")}</th>
            <th scope="col" class="number">{say(language, "logEnd")}</th>
            <th scope="col" class="number">{say(language, "lakeOffset")}</th>
            <th scope="col" class="number">{say(language, "lagRows")}</th>
            <th scope="col" class="number">{say(language, "lagTime")}</th>
            <th scope="col" class="number">{say(language, "freshness")}</th>
            <th scope="col" class="number">{say(language, "snapshot")}</th>
            <th scope="col">{say(language, "state")}</th>
          </tr>
        </thead>
        <tbody>
          {overview.tables.map((row) => (
            <Row key={`${row.database}.${row.table}`} row={row} language={language} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

export function TablesPage({ language }: { language: Language }) {
  const { overview, lost, samples } = useOverview();
  if (overview === null) return <p class="empty">{say(language, lost ? "lost" : "loading")}</p>;
  const rate = overview.tables.reduce((sum, row) => sum + row.rows_per_second, 0);
  const late = overview.tables.filter((row) => row.late).length;
  return (
    <main data-revision={overview.revision}>
      {lost && <p class="banner" role="alert">{say(language, "lost")}</p>}
      <div class="figures">
        <Figure label={say(language, "tables")} value={formatCount(overview.tables.length)} />
        <Figure label={say(language, "write")} value={`${formatCount(rate)} /s`} />
        <Figure label={say(language, "lag")} value={formatDuration(largestLagMs(overview))} />
        <Figure label={say(language, "late")} value={formatCount(late)} alarm={late > 0} />
        <Figure label={say(language, "uptime")} value={formatDuration(overview.uptime_ms)} />
      </div>
      <TableList overview={overview} language={language} />
      <LagChart samples={samples} label={say(language, "chart")} />
      <footer>
        Sluice {overview.version} · {say(language, "revision")} {overview.revision} ·{" "}
        {new Date(overview.time_ms).toISOString()}
      </footer>
    </main>
  );
}
