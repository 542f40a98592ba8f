import { Refusal } from '../http/refusal.ts'

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Throws the 404 of an unknown destination for a path id that cannot be one. */
export function requireDestinationId(id: string): void {
  if (!UUID.test(id)) throw noSuchDestination()
}

/** Also for a destination of another tracker: existence is information too. */
export function noSuchDestination(): Refusal {
  return Refusal.notFound('This tracker has no such destination.')
}
