import { type Answer, jsonAnswer } from './answer.ts'
import type { FieldErrors } from './field-check.ts'

/** 422, with what is wrong under each field's dotted path. */
export function invalidAnswer(errors: FieldErrors): Answer {
  return jsonAnswer(422, { message: 'The given body is not valid.', errors })
}

export function messageAnswer(status: number, message: string): Answer {
  return jsonAnswer(status, { message })
}
