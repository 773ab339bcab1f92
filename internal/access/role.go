package access

import (
	"context"
	"fmt"
)

// Role is what a client may do. A higher role includes the lower ones.
type Role int

// Roles.
const (
	None     Role = iota - 1 // not identified
	Viewer                   // may read
	Operator                 // may also give feedback and launch actions that have a dry run
	Admin                    // may also change the configuration and take profiles
	numRoles
)

func roleNames() [numRoles]string { return [...]string{"viewer", "operator", "admin"} }

func (r Role) String() string {
	if r < 0 || r >= numRoles {
		return "none"
	}
	return roleNames()[r]
}

// MarshalText encodes the role by name.
func (r Role) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText decodes a role name.
func (r *Role) UnmarshalText(text []byte) error {
	for i, name := range roleNames() {
		if name == string(text) {
			*r = Role(i)
			return nil
		}
	}
	return fmt.Errorf("role %q: want viewer, operator or admin", text)
}

// Identity is a client and how it was identified.
type Identity struct {
	Name string
	Role Role
	By   string // loopback, insecure, token, session, proxy or certificate
}

type identityKey struct{}

// With adds the client's identity to a request's context.
func With(ctx context.Context, who Identity) context.Context {
	return context.WithValue(ctx, identityKey{}, who)
}

// Of returns the client's identity. Without a Guard the role is None.
func Of(ctx context.Context) Identity {
	who, ok := ctx.Value(identityKey{}).(Identity)
	if !ok {
		return Identity{Role: None}
	}
	return who
}
