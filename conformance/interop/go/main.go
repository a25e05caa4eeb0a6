// interop CASE BOOTSTRAP ...: checks with franz-go. Prints what it saw.
package main

import (
	"context"
	"fmt"
	"os"
	"time"
)

const patience = 60 * time.Second

func main() {
	ctx := context.Background()
	var err error
	switch arguments := os.Args[1:]; {
	case len(arguments) == 4 && arguments[0] == "member":
		err = member(ctx, arguments[1], arguments[2], arguments[3])
	case len(arguments) == 2 && arguments[0] == "transactions":
		limited, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		err = transactions(limited, arguments[1])
	default:
		err = fmt.Errorf("interop member BOOTSTRAP TOPIC GROUP | transactions BOOTSTRAP")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
