// Package demo is what the demonstration shows: it plays a story on a simulated fabric in real time, sends what its devices
// report to Kafka, and prints the story, the regions as they are found, and their verdicts once they are stable.
package demo
