/** One invented person, whose identifiers are planted wherever a request may carry some. */
export const CANARY = {
  email: 'Wanda.Kanarie@probe-mail.example',
  phone: '+49 1512 7310684',
  firstName: 'Kanariella',
  lastName: "O'Probenfels",
  birthDate: '1987-03-14',
  postalCode: 'SW1A 2AA',
  externalId: 'customer-kanarie-4711',
  ipAddress: '45.83.91.17',
  userAgent: 'KanarienBrowser/7.3',
}

/** Pieces of the person, in lower case, that stand in no random id by chance. */
const TRACES = [
  ...['kanarie', 'probe-mail', 'probenfels', 'sw1a 2aa', '1987-03-14', '45.83.91'],
  ...['1512 7310684', '15127310684'],
]

const CONTEXT_CHARACTERS = 80

/** The first trace of the person in a text, with what stands around it; null without one. */
export function canaryTraceIn(text: string): string | null {
  const lower = text.toLowerCase()
  const at = Math.max(...TRACES.map(trace => lower.indexOf(trace)))
  return at < 0 ? null : text.slice(Math.max(0, at - CONTEXT_CHARACTERS), at + CONTEXT_CHARACTERS)
}
