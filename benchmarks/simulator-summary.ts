/** What the simulator counted, as `GET /_simulator/summary` shows it. */
export interface SimulatorSummary {
  requests: number
  /** Those of which nothing was kept, scripted failures among them. */
  refused_requests: number
  receipts: number
  unique_events: number
  /** Receipts of events that it had already. */
  deduplicated: number
}

export async function simulatorSummary(simulatorUrl: string): Promise<SimulatorSummary> {
  const response = await fetch(`${simulatorUrl}/_simulator/summary`)
  return (await response.json()) as SimulatorSummary
}
