import contract from './conversion-contract.json' with { type: 'json' }

/**
 * The types of Pinterest's own client, as `record_contract.py` recorded them, for tests only. The
 * client is older (5.14.0) than the OpenAPI (5.23.0, github.com/pinterest/api-description), which
 * adds one member that we send. Neither allows others (`additionalProperties: false`).
 */
const MODELS: Record<string, Record<string, string>> = {
  ...contract.models,
  custom_data: { ...contract.models.custom_data, predicted_ltv: 'str' },
}

/** The members that the contract has for a part of a request or an answer. */
export function listContractMembers(model: string): string[] {
  return Object.keys(MODELS[model] ?? {}).sort()
}

/** The paths of members that the contract does not have, or has with another type. */
export function findContractProblems(model: string, json: unknown, path = ''): string[] {
  const members = MODELS[model] ?? {}
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
  if (Object.hasOwn(MODELS, type)) return findContractProblems(type, value, path)
  const isValid = type === 'int' ? Number.isSafeInteger(value) : typeof value === TYPES[type]
  return isValid || value === null ? [] : [`${path} is no ${type}`]
}

const TYPES: Record<string, string> = { str: 'string', bool: 'boolean' }
