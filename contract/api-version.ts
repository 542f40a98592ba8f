/** Of the contract, not of the packages. Generated clients are pinned to one version. */
export const API_VERSION = '0.5.0'
