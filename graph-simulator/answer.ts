/** An answer before it is written to a connection. */
export interface Answer {
  status: number
  headers: Record<string, string>
  body: string
}

export function jsonAnswer(status: number, body: unknown): Answer {
  return jsonTextAnswer(status, JSON.stringify(body))
}

/** For a body that is JSON text already, so that its numbers keep their digits. */
export function jsonTextAnswer(status: number, body: string): Answer {
  return { status, headers: { 'content-type': 'application/json; charset=UTF-8' }, body }
}
