import type { ScriptedFailure } from './scripted-failures.ts'

/** Makes the simulator fail in these ways from now on (graph-simulator/README.md). */
export async function scriptFailures(
  simulatorUrl: string,
  failures: readonly ScriptedFailure[],
): Promise<void> {
  const body = JSON.stringify({ rules: failures.map(({ rule }) => rule) })
  const response = await fetch(faultsUrl(simulatorUrl), { method: 'POST', body })
  if (response.status !== 200) throw new Error(`the simulator refused: ${await response.text()}`)
}

/** How often each failure has hit a request, in the order in which they were given. */
export async function firedCounts(simulatorUrl: string): Promise<number[]> {
  const response = await fetch(faultsUrl(simulatorUrl))
  const { rules } = (await response.json()) as { rules: { fired: number }[] }
  return rules.map(({ fired }) => fired)
}

function faultsUrl(simulatorUrl: string): string {
  return `${simulatorUrl}/_simulator/faults`
}
