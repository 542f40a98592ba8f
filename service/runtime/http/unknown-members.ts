import { isObject } from '../util/is-object.ts'
import type { Refusal } from './refusal.ts'
import { compileSchema, describeSchemaError } from './schema-errors.ts'
import type { ServiceApp } from './service-app.ts'
import { FieldErrorList } from './validator.ts'

/**
 * Refuses bodies with a member that the schema of their route does not know, at any depth: 422 that
 * names it. A body may reach the audit log, where everything stays for ever. Free-form objects
 * have no names to compare with. Call it before the routes are added.
 */
export function refuseUnknownMembers(app: ServiceApp): void {
  app.addHook('onRoute', route => {
    const schema: unknown = route.schema?.body
    if (!isObject(schema)) return
    const findUnknown = compileUnknownMembers(schema)
    const earlier = [route.preHandler ?? []].flat()
    const refuse = async ({ body }: { body: unknown }) => {
      const refusal = findUnknown(body)
      if (refusal) throw refusal
    }
    route.preHandler = [refuse, ...earlier]
  })
}

/**
 * Returns the refusal of a body with an unknown member, which names every other error of the schema
 * as well; null for any other body, which the operation validates in its own words.
 */
function compileUnknownMembers(schema: object): (body: unknown) => Refusal | null {
  const check = compileSchema(withoutOtherMembers(schema) as object)
  return body => {
    const found = check(body) ?? []
    if (!found.some(({ keyword }) => keyword === 'additionalProperties')) return null
    const errors = new FieldErrorList()
    for (const error of found) {
      const { field, sentence, rule } = describeSchemaError(error)
      errors.add(field, sentence, rule)
    }
    return errors.toRefusal()
  }
}

function withoutOtherMembers(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutOtherMembers)
  if (!isObject(schema)) return schema
  // Formats are checked by the operation.
  const keywords = Object.entries(schema).filter(([name]) => name !== 'format')
  const copy = keywords.map(([name, value]) => {
    // The names of members are no keywords.
    if (name !== 'properties' || !isObject(value)) return [name, withoutOtherMembers(value)]
    const members = Object.entries(value).map(([key, member]) => [key, withoutOtherMembers(member)])
    return [name, Object.fromEntries(members)]
  })
  const { properties, additionalProperties } = schema
  const isNamed = isObject(properties) && Object.keys(properties).length > 0
  if (isNamed && !isObject(additionalProperties)) copy.push(['additionalProperties', false])
  return Object.fromEntries(copy)
}
