/** Error messages by dotted field path ("rules.0.respond.status"). */
export type FieldErrors = Record<string, string[]>

/** Checks one value and adds its errors under `path`. */
export type FieldCheck = (value: unknown, path: string, errors: FieldErrors) => void

export interface ObjectShape {
  path: string
  members: Record<string, FieldCheck>
  required: string[]
}

/** Checks the members of an object. An unknown member is an error: it is usually a typo. */
export function checkObject(value: unknown, shape: ObjectShape, errors: FieldErrors): void {
  const { path, members, required } = shape
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    errors[path || 'body'] = ['Must be an object.']
    return
  }
  for (const name of required) {
    if (!Object.hasOwn(value, name)) errors[joinPath(path, name)] = ['Is required.']
  }
  for (const [name, member] of Object.entries(value)) {
    const check = Object.hasOwn(members, name) ? members[name] : undefined
    if (check) check(member, joinPath(path, name), errors)
    else
      errors[joinPath(path, name)] = [
        `Unknown field. Known fields: ${Object.keys(members).join(', ')}.`,
      ]
  }
}

export function object(members: Record<string, FieldCheck>, required: string[] = []): FieldCheck {
  return (value, path, errors) => checkObject(value, { path, members, required }, errors)
}

export function list(check: FieldCheck, itemsMax: number): FieldCheck {
  return (value, path, errors) => {
    if (!Array.isArray(value) || value.length > itemsMax)
      errors[path] = [`Must be a list of at most ${itemsMax}.`]
    else
      for (const [index, item] of value.entries()) check(item, joinPath(path, `${index}`), errors)
  }
}

export function text(lengthMin: number, lengthMax: number): FieldCheck {
  return checkWith(`Must be a string of ${lengthMin} to ${lengthMax} characters.`, value => {
    return typeof value === 'string' && value.length >= lengthMin && value.length <= lengthMax
  })
}

export function number(min: number, max: number): FieldCheck {
  return checkWith(`Must be a number from ${min} to ${max}.`, value => {
    return typeof value === 'number' && value >= min && value <= max
  })
}

export function integer(min: number, max: number): FieldCheck {
  return checkWith(`Must be an integer from ${min} to ${max}.`, value => {
    return Number.isSafeInteger(value) && Number(value) >= min && Number(value) <= max
  })
}

export function oneOf(...values: string[]): FieldCheck {
  return checkWith(`Must be one of ${values.join(', ')}.`, value =>
    values.includes(value as string),
  )
}

export const flag = checkWith('Must be true or false.', value => typeof value === 'boolean')

const ISO_8601 = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)$/

export const timestamp = checkWith('Must be an ISO 8601 time with an offset.', value => {
  return typeof value === 'string' && ISO_8601.test(value) && !Number.isNaN(Date.parse(value))
})

function checkWith(message: string, isValid: (value: unknown) => boolean): FieldCheck {
  return (value, path, errors) => {
    if (!isValid(value)) errors[path] = [message]
  }
}

function joinPath(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`
}
