/** Measures the memory of the process while DuckDB works on threads of its own. */
export function watchMemory(): { peakMegabytes: () => number } {
  let peak = 0;
  const timer = setInterval(() => {
    peak = Math.max(peak, residentMegabytes());
  }, 20).unref();
  return {
    peakMegabytes: () => {
      clearInterval(timer);
      return peak;
    },
  };
}

export function residentMegabytes(): number {
  return process.memoryUsage.rss() / 1_048_576;
}
