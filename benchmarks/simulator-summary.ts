/** What the simulator counted, as `GET /_simulator/summary` shows it. */
export interface SimulatorSummary {
  requests: number
  refused_requests: number
  receipts: number
  unique_events: number
}

export async function simulatorSummary(simulatorUrl: string): Promise<SimulatorSummary> {
  const response = await fetch(`${simulatorUrl}/_simulator/summary`)
  return (await response.json()) as SimulatorSummary
}
