import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

export interface LagSample {
  timeSeconds: number;
  lagSeconds: number;
}

/** The largest lag over the last minutes as a line. */
export function LagChart({ samples, label }: { samples: LagSample[]; label: string }) {
  const holder = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);

  useEffect(() => {
    const element = holder.current!;
    const made = new uPlot(
      {
        width: element.clientWidth,
        height: 140,
        legend: { show: false },
        cursor: { show: false },
        scales: {
          // Seconds since 1970; a first sample alone has a minute around it.
          x: { time: true, range: (_, min, max) => [Math.min(min ?? 0, (max ?? 60) - 60), max ?? 60] },
          y: { range: (_, __, max) => [0, Math.max(max, 1)] },
        },
        axes: [
          {
            stroke: "#8a94a6",
            grid: { stroke: "#8a94a622" },
            values: (_, seconds) => seconds.map((s) => new Date(s * 1000).toLocaleTimeString("en-GB")),
          },
          { stroke: "#8a94a6", grid: { stroke: "#8a94a622" }, size: 44 },
        ],
        series: [{}, { stroke: "#2f7de1", width: 2, fill: "#2f7de11a" }],
      },
      [[], []],
      element,
    );
    plot.current = made;
    const resize = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height: 140 }));
    resize.observe(element);
    return () => {
      resize.disconnect();
      made.destroy();
    };
  }, []);

  useEffect(() => {
    plot.current?.setData([samples.map((s) => s.timeSeconds), samples.map((s) => s.lagSeconds)]);
  }, [samples]);

  return (
    <figure class="card">
      <figcaption>{label}</figcaption>
      <div ref={holder} />
    </figure>
  );
}
