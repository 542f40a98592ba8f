import type { SendAnswer } from '../platforms/send-outcome.ts'

/**
 * Whether an answer could repeat anything of what was sent. Most are a number of events and an
 * empty list, which tell nothing of anybody; whatever else a platform says may be words.
 */
export function hasWords({ error, answer }: SendAnswer): boolean {
  if (error !== null) return true
  return Object.entries(answer ?? {}).some(([name, member]) => !isWordless(name, member))
}

function isWordless(name: string, member: unknown): boolean {
  if (Array.isArray(member)) return member.length === 0
  return name === 'events_received' && typeof member === 'number'
}
