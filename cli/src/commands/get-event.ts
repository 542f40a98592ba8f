import { EXIT_CODES } from '../exit-codes.ts'
import type { Handler } from '../program.ts'
import { formatEvent, isDelivered } from './event-text.ts'
import { type WaitOption, waitMilliseconds } from './wait-option.ts'

interface GetOptions {
  space?: 'secret' | 'publishable'
  wait?: WaitOption
}

/** `events get`: one event with the reason for everything that happened to it. */
export const getEvent: Handler<GetOptions> = async (context, { space, wait }, [id = '']) => {
  const { signal } = context.host
  const client = await context.client()
  const timeout = waitMilliseconds(wait)
  if (timeout !== null) await client.events.waitForDelivery(id, { signal, timeout })
  const detail = await client.events.get(id, { space, signal })
  if (context.isJson) await context.printJson(detail)
  else await context.print(formatEvent(detail, context))
  return timeout === null || isDelivered(detail) ? EXIT_CODES.success : EXIT_CODES.refused
}
