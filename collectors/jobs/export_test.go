package jobs

// MaxNodes is the limit of the nodes of all jobs that are remembered.
const MaxNodes = maxNodes
