// Package flightrecorder reads the dumps of PyTorch's Flight Recorder (one pickle or
// JSON file per rank) and finds why a job hangs. The input is the bytes of the dumps;
// the output is the collectives of every rank and a diagnosis: which ranks stopped, are
// late or left no dump, and where ranks disagree on the sequence of collectives. The
// pickle reader builds plain values only and refuses every opcode that would load or
// call code. The package opens no files and does not analyse the network.
package flightrecorder
