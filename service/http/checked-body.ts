import { compileBodySchema } from './body-schema.ts'
import { addSchemaErrors, addTextFault, FieldErrorList } from './field-errors.ts'
import { Refusal } from './refusal.ts'

/**
 * Makes the check of a body that a schema of the contract describes in full: it returns the body,
 * or throws a 422 with every wrong field. `textMembers` are those that are stored or sent as text.
 * An absent body and `null` count as `{}`, so that operations without required members need none.
 */
export function bodyCheck<Body extends object>(
  schema: object,
  textMembers: readonly (keyof Body & string)[] = [],
): (body: unknown) => Body {
  const check = compileBodySchema(schema)
  return body => {
    const given = (body ?? {}) as Body
    const faults = new FieldErrorList()
    addSchemaErrors(faults, check(given) ?? [])
    for (const name of textMembers) addTextFault(faults, name, given[name])
    if (!faults.isEmpty) throw Refusal.ofFields(faults.toErrors())
    return given
  }
}
