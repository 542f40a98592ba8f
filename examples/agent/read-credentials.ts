import { readFileSync } from 'node:fs'

/** What the person of the story knows. The agents are told nothing of it but where MCP is. */
export interface Credentials {
  base_url: string
  workspace_id: number
  ad_account_id: number
  owner_email: string
  owner_password: string
}

/** Throws one sentence for a person when the file cannot be used. */
export function readCredentials(path: string): Credentials {
  const { base_url, workspace_id, ad_account_id, owner_email, owner_password } = parse(path)
  const isWhole =
    [base_url, owner_email, owner_password].every(text => typeof text === 'string') &&
    [workspace_id, ad_account_id].every(id => typeof id === 'number')
  if (isWhole) {
    return { base_url, workspace_id, ad_account_id, owner_email, owner_password } as Credentials
  }
  throw new Error(`${path} names no owner of an ad account with a password: nobody could approve.`)
}

function parse(path: string): Partial<Record<keyof Credentials, unknown>> {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) ?? {}
  } catch (cause) {
    throw new Error(`No credentials can be read from ${path}: start the service by "npm start".`, {
      cause,
    })
  }
}
