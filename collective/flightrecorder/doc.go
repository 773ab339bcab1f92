// Package flightrecorder reads the dumps of PyTorch's Flight Recorder (one file per
// rank, a pickle or JSON) and finds why a job hangs. In go the bytes of the dumps; out
// come the collectives of every rank, and a Report: which ranks stopped, which are
// late or left no dump, and where ranks disagree on the sequence of collectives. The
// pickle reader knows values only and refuses every opcode that would load or call
// code. It opens no files and judges no networks.
package flightrecorder
