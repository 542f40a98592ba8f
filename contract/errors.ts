import Type, { type Static } from 'typebox'
import { named } from './scalars.ts'

/** Every error except validation errors: one sentence with what to do. */
export const MessageError = named(
  'MessageError',
  Type.Object({ message: Type.String({ description: 'One sentence for a person.' }) }),
)
export type MessageError = Static<typeof MessageError>

/** The largest body, in bytes, of an operation without a limit of its own. */
export const BODY_BYTES_MAX = 65_536

/** The message of a 413: the limit and the next step. */
export function describeBodyTooLarge(bytesMax: number): string {
  return (
    `The body is larger than ${bytesMax} bytes; split a batch into several requests, or leave ` +
    'out optional data such as custom properties.'
  )
}

export const FieldErrors = named(
  'FieldErrors',
  Type.Unsafe<Record<string, string[]>>({
    type: 'object',
    additionalProperties: { type: 'array', items: { type: 'string' }, minItems: 1 },
    description: 'Dotted field path -> sentences.',
  }),
)

/** 422: all invalid fields. Keys are dotted paths into the request. */
export const ValidationError = named(
  'ValidationError',
  Type.Object({
    message: Type.String({ description: 'The first problem, and how many more there are.' }),
    errors: FieldErrors,
  }),
)
export type ValidationError = Static<typeof ValidationError>

/** Errors of any operation without a body. */
export const READ_ERRORS = {
  400: MessageError,
  401: MessageError,
  403: MessageError,
  429: MessageError,
  500: MessageError,
  503: MessageError,
} as const

/** Errors of any operation with a body. */
export const WRITE_ERRORS = {
  400: MessageError,
  401: MessageError,
  403: MessageError,
  413: MessageError,
  415: MessageError,
  429: MessageError,
  500: MessageError,
  503: MessageError,
} as const
