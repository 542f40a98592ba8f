import { MessageError } from './errors.ts'

/** What any operation without a body may be refused with. */
export const READ_REFUSALS = {
  400: MessageError,
  401: MessageError,
  403: MessageError,
  429: MessageError,
  500: MessageError,
  503: MessageError,
} as const

/** What any operation that reads a body may be refused with. */
export const WRITE_REFUSALS = {
  400: MessageError,
  401: MessageError,
  403: MessageError,
  413: MessageError,
  415: MessageError,
  429: MessageError,
  500: MessageError,
  503: MessageError,
} as const
