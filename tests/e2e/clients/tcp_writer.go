// Writes over one connection made by Go's net with its defaults, until an error; prints what happens.
package main

import (
	"fmt"
	"net"
	"os"
	"time"
)

func main() {
	connection, err := net.Dial("tcp", os.Args[1])
	if err == nil {
		fmt.Println("connected")
	}
	for err == nil {
		_, err = connection.Write([]byte("x"))
		time.Sleep(200 * time.Millisecond)
	}
	fmt.Println(err)
}
