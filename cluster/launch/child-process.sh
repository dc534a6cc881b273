# shellcheck shell=bash disable=SC2034
# For the scripts of this folder, which source it: one child process, the signals that are passed on to it, and the wait for
# its end. The traps of the script count signals in `received` and call pass_on.

child=""      # its process id; empty: none runs
received=0    # signals so far
passed=0      # of these, passed on

# Sends the child a USR1 for each signal, also for those that came before the child was started.
pass_on() {
  while [ -n "$child" ] && [ "$passed" -lt "$received" ]; do
    passed=$((passed + 1))
    kill -USR1 "$child" 2>/dev/null
  done
}

# Sleeps $1 seconds; a signal ends the sleep at once. It holds no pipe of the script open.
interruptible_sleep() {
  sleep "$1" >/dev/null 2>&1 &
  wait "$!"
}

# Waits for the end of the child and sets `code` to its exit code. Not wait -n: bash 5.2 forgets how a child ended whose end
# and a trap meet in it.
wait_for_child() {
  while kill -0 "$child" 2>/dev/null; do interruptible_sleep 0.5; done
  wait "$child"
  code=$?
  child=""
}
