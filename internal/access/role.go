package access

import (
	"context"
	"fmt"
)

// Role is what a client may do. A higher one may do all that a lower one may.
type Role int

// Roles.
const (
	None     Role = iota - 1 // not known
	Viewer                   // reads
	Operator                 // gives feedback and launches what has a dry run
	Admin                    // changes the configuration and takes profiles
	numRoles
)

func roleNames() [numRoles]string { return [...]string{"viewer", "operator", "admin"} }

func (r Role) String() string {
	if r < 0 || r >= numRoles {
		return "none"
	}
	return roleNames()[r]
}

// MarshalText gives the name.
func (r Role) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads the name.
func (r *Role) UnmarshalText(text []byte) error {
	for i, name := range roleNames() {
		if name == string(text) {
			*r = Role(i)
			return nil
		}
	}
	return fmt.Errorf("role %q: want viewer, operator or admin", text)
}

// Identity is who asks, and how that is known.
type Identity struct {
	Name string
	Role Role
	By   string // loopback, insecure, token, session, proxy or certificate
}

type identityKey struct{}

// With puts who asks into a request's context.
func With(ctx context.Context, who Identity) context.Context {
	return context.WithValue(ctx, identityKey{}, who)
}

// Of is who asks. Without a Guard before the handler the role is None.
func Of(ctx context.Context) Identity {
	who, ok := ctx.Value(identityKey{}).(Identity)
	if !ok {
		return Identity{Role: None}
	}
	return who
}
