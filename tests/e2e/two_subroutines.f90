! SPDX-License-Identifier: GPL-2.0-or-later
! two_subroutines SECONDS PERCENT - as two_callers.c: the callers are module procedures, one of which is recursive and calls the
! run-time library.
module work
	implicit none
	double precision :: sink = 0
contains
	double precision function own_time()
		call cpu_time(own_time)
	end function

	recursive integer function recurse(depth) result(sum)
		integer, intent(in) :: depth
		integer :: room(25)
		character(len=32) :: text

		room = depth
		if (depth > 0) then
			sum = recurse(depth - 1) + room(depth)
		else
			write (text, '(es16.8)') 1.5d0 * room(1)
			sum = len_trim(text)
		end if
	end function

	subroutine sort(n)
		integer, intent(in) :: n
		integer :: number(n), i, j, one

		do i = 1, n
			number(i) = mod(i * 7919, 1009)
		end do
		do i = 2, n
			one = number(i)
			j = i - 1
			do while (j > 0)
				if (number(j) <= one) exit
				number(j + 1) = number(j)
				j = j - 1
			end do
			number(j + 1) = one
		end do
		sink = sink + number(n / 2)
	end subroutine

	subroutine heavy(seconds)
		double precision, intent(in) :: seconds
		double precision :: end

		end = own_time() + seconds
		do while (own_time() < end)
			call sort(300)
			sink = sink + recurse(8)
		end do
	end subroutine

	subroutine light(seconds)
		double precision, intent(in) :: seconds
		double precision :: end

		end = own_time() + seconds
		do while (own_time() < end)
			sink = sink + recurse(8)
			call sort(300)
		end do
	end subroutine
end module

program two_subroutines
	use work
	implicit none
	character(len=32) :: arg
	double precision :: seconds, percent, begin, in_heavy = 0

	call get_command_argument(1, arg)
	read (arg, *) seconds
	call get_command_argument(2, arg)
	read (arg, *) percent
	do while (own_time() < seconds)
		begin = own_time()
		call heavy(0.002d0 * percent)
		in_heavy = in_heavy + own_time() - begin
		call light(0.002d0 * (100 - percent))
	end do
	print '(f6.4)', in_heavy / own_time()
end program
