/** The members of each part of a request, with their types, as a platform's library has them. */
export type ContractModels = Record<string, Record<string, string>>

/** What a recorded contract says, for tests only. No part has other members. */
export function createContract(models: ContractModels) {
  /** The paths of members that the contract does not have, or has with another type. */
  function findProblems(model: string, json: unknown, path = ''): string[] {
    const members = models[model] ?? {}
    return Object.entries(json as Record<string, unknown>).flatMap(([name, value]) => {
      const type = Object.hasOwn(members, name) ? members[name] : undefined
      const place = path === '' ? name : `${path}.${name}`
      return type === undefined ? [`${place} is unknown`] : checkType(type, value, place)
    })
  }

  function checkType(type: string, value: unknown, path: string): string[] {
    const item = /^\[(.+)\]$/.exec(type)?.[1]
    if (item !== undefined) {
      if (!Array.isArray(value)) return [`${path} is no list`]
      return value.flatMap((one, index) => checkType(item, one, `${path}.${index}`))
    }
    if (Object.hasOwn(models, type)) return findProblems(type, value, path)
    const isValid = type === 'int' ? Number.isSafeInteger(value) : typeof value === TYPES[type]
    return isValid || value === null ? [] : [`${path} is no ${type}`]
  }

  return {
    findProblems,
    listMembers: (model: string) => Object.keys(models[model] ?? {}).sort(),
  }
}

const TYPES: Record<string, string> = { str: 'string', bool: 'boolean', float: 'number' }
