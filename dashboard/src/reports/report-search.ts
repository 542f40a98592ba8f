export interface ReportSearch {
  report: 'reconciliation' | 'match-quality'
  /** UTC days, both included; the service's default when left out. */
  from?: string
  to?: string
  destination?: string
  /** The day whose gap is explained; the newest one when left out. */
  day?: string
}

/** Reads the address of the page; anything else in it counts as left out. */
export function readReportSearch(search: Record<string, unknown>): ReportSearch {
  const { report, from, to, destination, day } = search
  return {
    report: report === 'match-quality' ? report : 'reconciliation',
    ...(isDay(from) && { from }),
    ...(isDay(to) && { to }),
    ...(typeof destination === 'string' && { destination }),
    ...(isDay(day) && { day }),
  }
}

function isDay(input: unknown): input is string {
  return typeof input === 'string' && /^\d{4}-\d{2}-\d{2}$/.test(input)
}
