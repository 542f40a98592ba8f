import type { SendAnswer } from '../send-outcome.ts'
import { noAnswer } from './answer.ts'

/** The steps before a connection stands, as the system calls name themselves. */
const UNCONNECTED_STEPS = new Set(['getaddrinfo', 'connect'])
const UNCONNECTED_CODES = new Set(['UND_ERR_CONNECT_TIMEOUT', 'ERR_TLS_HANDSHAKE_TIMEOUT'])

/** OpenSSL's verdicts on a certificate, and Node's when it names another host. */
const DISTRUST =
  /CERT|LEAF_SIGNATURE|HOSTNAME_MISMATCH|^INVALID_(CA|PURPOSE)$|^PATH_LENGTH_EXCEEDED$/
/** No agreement on how to talk. Other failures of TLS can also come after the request. */
const DISAGREEMENT =
  /^ERR_SSL_.*(WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|PROTOCOL|HANDSHAKE_FAILURE)/

/**
 * What it means that `fetch` threw instead of answering. As long as there is no connection that can
 * be trusted, nothing has been sent: a plain retry. Later than that the platform may have the
 * events, and nobody knows.
 */
export function transportFailure(error: unknown): SendAnswer {
  if (error instanceof Error && error.name === 'TimeoutError') {
    return noAnswer('unknown', 'The platform did not answer in time.')
  }
  const { name, code = name ?? 'no reason', syscall = '' } = causeOf(error)
  if (UNCONNECTED_STEPS.has(syscall) || UNCONNECTED_CODES.has(code)) {
    return noAnswer('retry', `The platform could not be reached (${code}).`)
  }
  if (DISTRUST.test(code) || DISAGREEMENT.test(code)) {
    return noAnswer('retry', `No secure connection to the platform was possible (${code}).`)
  }
  return noAnswer('unknown', `The connection to the platform broke (${code}).`)
}

interface Cause {
  name?: string
  code?: string | undefined
  syscall?: string
  /** One a tried address, when a name has several. */
  errors?: Cause[]
}

function causeOf(error: unknown): Cause {
  const { cause = error as Cause } = error as { cause?: Cause }
  return cause.errors?.[0] ?? cause
}
