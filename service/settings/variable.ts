/** How one variable is read. `secret` values are never printed, only "set" or "unset". */
export interface Variable {
  kind: 'integer' | 'text' | 'url' | 'choice' | 'pattern' | 'networks'
  default: string | undefined
  meaning: string
  secret?: true
  minimum?: number
  maximum?: number
  choices?: readonly string[]
  pattern?: RegExp
  patternMeaning?: string
}
